-- ARGV: version, generation, the turn that the memory goes up to, 1 to keep the turns, memory, entities (a JSON
-- list), milliseconds to live, the name of this request. Returns ok, conflict or gone.
local version, generation, up_to, keeps = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4] == '1'
local text, facts, ttl, request = ARGV[5], ARGV[6], ARGV[7], ARGV[8]
local found, is_whole = session()
if not is_whole then
  return TORN
end
if not found or found.generation ~= generation then
  return 'gone'
end
if found.committed == request then
  return 'ok'
end
if found.version ~= version then
  return 'conflict'
end
local pending = tonumber(found.pending)
local first = tonumber(found.number) - pending + 1
local n_removed = keeps and 0 or math.max(0, math.min(pending, up_to - first + 1))
-- The hash is first: a full server refuses the first that takes memory, and nothing has changed then.
redis.call('HSET', memory, 'memory', text, 'version', string.format('%d', tonumber(version) + 1),
  'last_turn', ARGV[3], 'pending', pending - n_removed, 'ttl', ttl, 'committed', request)
redis.call('SET', entities, facts)
redis.call('LTRIM', turns, n_removed, -1)
live_for(ttl, true)
return 'ok'
