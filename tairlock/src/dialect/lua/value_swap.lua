local held = redis.pcall('HMGET', KEYS[1], 'version', 'value', 'mark')
if held.err then
  if not string.find(held.err, 'WRONGTYPE', 1, true) then return held end
  return {'kind', redis.call('TYPE', KEYS[1])['ok']}
end
if not (held[1] and held[2]) then
  if redis.call('EXISTS', KEYS[1]) == 0 then return {'none'} end
  return {'kind', 'hash'}
end
if held[1] ~= ARGV[1] then return {'held', held[1], held[2], held[3]} end
redis.call('HSET', KEYS[1], 'version', ARGV[2], 'value', ARGV[3], 'mark', ARGV[4])
if ARGV[5] == 'persist' then
  redis.call('PERSIST', KEYS[1])
elseif ARGV[5] ~= 'keep' then
  redis.call('PEXPIRE', KEYS[1], ARGV[5])
end
return {'done', ARGV[2]}
