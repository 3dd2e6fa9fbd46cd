-- KEYS: what is known of a cache (a hash), and its entries, the newest last (a list). ARGV: of what form its vectors
-- are, how many entries it holds, its generation as the caller knows it (or nothing), how many entries the caller
-- knows of, milliseconds to live, a generation for a cache that is not there yet, an entry to add (or nothing), the
-- name of this request, and 1 where it may have been carried out before.
-- Returns generation, number of entries ever added before this one, and those of them that the caller does not know
-- and that are still there; or form and the one that it has where they differ; or gone.
local state, rows = KEYS[1], KEYS[2]
local form, size, known, since, ttl = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4]), ARGV[5]
local entry, request = ARGV[7], ARGV[8]
local found = redis.call('HMGET', state, 'form', 'generation', 'count', 'added')
local n_rows = redis.call('LLEN', rows)
local count, added = tonumber(found[3] or '0'), found[4] or ''
if known ~= '' and found[2] ~= known or n_rows ~= math.min(count, size) then
  return {'gone'}
end
if found[1] and found[1] ~= form then
  return {'form', found[1]}
end
local generation, n_before = found[2] or ARGV[6], count
local done = ARGV[9] == '1' and string.match(added, request .. '=(%d+) ')
if done then
  n_before = tonumber(done)
end
local first, last = math.max(since - (count - n_rows), 0), n_before - (count - n_rows) - 1
local unknown = last >= first and redis.call('LRANGE', rows, first, last) or {}
if entry ~= '' and not done then
  -- The hash is first: a full server refuses the first that takes memory, and nothing has changed then.
  redis.call('HSET', state, 'form', form, 'generation', generation, 'count', count + 1,
    'added', string.sub(request .. '=' .. count .. ' ' .. added, 1, 512))
  redis.call('RPUSH', rows, entry)
  redis.call('LTRIM', rows, -size, -1)
end
redis.call('PEXPIRE', state, ttl)
redis.call('PEXPIRE', rows, ttl)
return {generation, n_before, unknown}
