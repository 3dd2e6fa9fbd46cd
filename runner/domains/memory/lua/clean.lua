-- ARGV: milliseconds without use from which a session goes (-1: none), and 1 to delete it, not only say why.
-- Returns incomplete, endless (a part has no time to live), idle, or nothing for a session that stays.
local limit, deletes = tonumber(ARGV[1]), ARGV[2] == '1'
local found, is_whole = session()
local reason = ''
if not is_whole then
  reason = 'incomplete'
elseif found then
  for _, key in ipairs(KEYS) do
    if redis.call('PTTL', key) == -1 then
      reason = 'endless'
    end
  end
  if reason == '' and limit >= 0 and tonumber(found.ttl) - redis.call('PTTL', memory) >= limit then
    reason = 'idle'
  end
end
if reason ~= '' and deletes then
  redis.call('DEL', turns, memory, entities)
end
return reason
