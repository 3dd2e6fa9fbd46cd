-- ARGV: the turn (a JSON object), a generation for a session that is not there yet, milliseconds to live, how many
-- turns to keep (-1: all), the name of this request, and 1 where it may have been carried out before.
-- Returns the number of the turn and the generation of the session.
local turn, generation, ttl, keep, request, again = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5], ARGV[6]
local found, is_whole = session()
if not is_whole then
  return TORN
end
if again == '1' and found then
  local number = string.match(found.appended, request .. '=(%d+) ')
  if number then
    return {tonumber(number), found.generation}
  end
end
local is_new = not found
found = found or {generation = generation, version = '0', number = '0', pending = '0', appended = ''}
local number, pending = tonumber(found.number) + 1, tonumber(found.pending) + 1
if keep >= 0 and pending > keep then
  pending = keep
end
-- The hash is first: a full server refuses the first that takes memory, and nothing has changed then.
local appended = string.sub(request .. '=' .. number .. ' ' .. found.appended, 1, 512)
if is_new then
  redis.call('HSET', memory, 'number', number, 'pending', pending, 'ttl', ttl, 'appended', appended,
    'generation', generation, 'version', '0', 'last_turn', '0')
else
  redis.call('HSET', memory, 'number', number, 'pending', pending, 'ttl', ttl, 'appended', appended)
end
redis.call('RPUSH', turns, '{"number":' .. number .. ',' .. string.sub(turn, 2))
if keep == 0 then
  redis.call('DEL', turns)
elseif keep > 0 then
  redis.call('LTRIM', turns, -keep, -1)
end
live_for(ttl, found.version ~= '0')
return {number, found.generation}
