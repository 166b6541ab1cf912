local left = ARGV[3]
if left == 'keep' then left = redis.call('PTTL', KEYS[1]) end
local reply = redis.call('EXCAS', KEYS[1], ARGV[1], ARGV[2])
if type(reply) ~= 'table' then return {'none'} end
if reply[1] ~= 'OK' and reply[1]['ok'] ~= 'OK' then return {'moved'} end
left = tonumber(left)
if left >= 0 then redis.call('PEXPIRE', KEYS[1], math.max(left, 1)) end
return {'done'}
