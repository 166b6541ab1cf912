local held = redis.pcall('HMGET', KEYS[1], 'fence', 'value')
if held.err then
  if not string.find(held.err, 'WRONGTYPE', 1, true) then return held end
  return {'kind', redis.call('TYPE', KEYS[1])['ok']}
end
if held[1] and held[2] then return {'held', held[1], held[2]} end
if redis.call('EXISTS', KEYS[1]) == 0 then return {'none'} end
return {'kind', 'hash'}
