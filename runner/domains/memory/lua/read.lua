-- ARGV: milliseconds to live, or nothing to leave that as it is. Returns nothing where there is no session, else
-- generation, version, last turn of the memory, number of the last turn, memory, entities, and then its turns.
local ttl = ARGV[1]
local found, is_whole = session()
if not is_whole then
  return TORN
end
if not found then
  return {}
end
if ttl ~= '' then
  if found.ttl ~= ttl then
    redis.call('HSET', memory, 'ttl', ttl)
  end
  live_for(ttl, found.version ~= '0')
end
local state = {found.generation, found.version, found.last_turn, found.number}
state[5] = redis.call('HGET', memory, 'memory') or ''
state[6] = redis.call('GET', entities) or '[]'
for _, turn in ipairs(redis.call('LRANGE', turns, 0, -1)) do
  state[#state + 1] = turn
end
return state
