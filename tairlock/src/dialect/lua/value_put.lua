local held = redis.pcall('HMGET', KEYS[1], 'version', 'value', 'mark')
if held.err then
  if not string.find(held.err, 'WRONGTYPE', 1, true) then return held end
  return {'kind', redis.call('TYPE', KEYS[1])['ok']}
end
local version
if held[1] and held[2] then
  if ARGV[1] == 'create' then return {'held', held[1], held[2], held[3]} end
  if held[1] == '9223372036854775807' then return {'end'} end
  -- Its reply is a number and rounds from 2^53 up; the field does not.
  local next = redis.pcall('HINCRBY', KEYS[1], 'version', 1)
  if type(next) == 'table' then
    if string.find(next.err, 'not an integer', 1, true) then return {'kind', 'hash'} end
    return next
  end
  version = redis.call('HGET', KEYS[1], 'version')
elseif redis.call('EXISTS', KEYS[1]) == 1 then
  return {'kind', 'hash'}
elseif ARGV[2] == 'clock' then
  local now = redis.call('TIME')
  version = string.format('%.0f', now[1] * 1000000 + now[2])
else
  version = ARGV[2]
end
redis.call('HSET', KEYS[1], 'version', version, 'value', ARGV[3], 'mark', ARGV[4])
if ARGV[5] == 'persist' then
  redis.call('PERSIST', KEYS[1])
elseif ARGV[5] ~= 'keep' then
  redis.call('PEXPIRE', KEYS[1], ARGV[5])
end
return {'done', version}
