-- What every script begins with. KEYS are those of one session: its turns (a list), its memory (a hash), and its
-- entities (a string). All three end at the same time. All but `entities` are there from the first turn on, as far
-- as they hold anything; `entities` from the first commit on.
local turns, memory, entities = KEYS[1], KEYS[2], KEYS[3]
local TORN = redis.error_reply('TORN')

-- The session, or nil; and whether all of it is there. A server that evicts single keys tears sessions apart.
local function session()
  local names = {'generation', 'version', 'last_turn', 'number', 'pending', 'ttl', 'appended', 'committed'}
  local values = redis.call('HMGET', memory, unpack(names))
  local n_turns, has_entities = redis.call('LLEN', turns), redis.call('EXISTS', entities) == 1
  if not values[1] then
    return nil, n_turns == 0 and not has_entities
  end
  local found = {}
  for i, name in ipairs(names) do
    found[name] = values[i]
  end
  return found, n_turns == tonumber(found.pending) and has_entities == (found.version ~= '0')
end

local function live_for(ttl, has_entities)
  redis.call('PEXPIRE', turns, ttl)
  redis.call('PEXPIRE', memory, ttl)
  if has_entities then
    redis.call('PEXPIRE', entities, ttl)
  end
end
