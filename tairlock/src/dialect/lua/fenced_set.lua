local held = redis.pcall('HMGET', KEYS[1], 'fence', 'value')
if held.err then
  if not string.find(held.err, 'WRONGTYPE', 1, true) then return held end
  return {'kind', redis.call('TYPE', KEYS[1])['ok']}
end
local last = held[1]
if last and held[2] then
  if not string.match(last, '^%d+$') then return {'kind', 'hash'} end
  -- As text, by length first: a number of so many digits is not what it says.
  if #last > #ARGV[2] or (#last == #ARGV[2] and last > ARGV[2]) then return {'held', last} end
elseif redis.call('EXISTS', KEYS[1]) == 1 then
  return {'kind', 'hash'}
end
redis.call('HSET', KEYS[1], 'value', ARGV[1], 'fence', ARGV[2])
return {'done'}
