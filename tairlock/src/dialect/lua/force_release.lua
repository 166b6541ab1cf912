local held = redis.call('GET', KEYS[1])
if not held then return {} end
local left = redis.call('PTTL', KEYS[1])
redis.call('DEL', KEYS[1])
return {held, left}
