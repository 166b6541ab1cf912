local held = redis.call('EXGET', KEYS[1])
if not held then return -1 end
-- Numbers round from 2^53 up, and to delete the wrong version is worse than to delete none.
if held[2] >= 9007199254740992 then
  return redis.error_reply('OOM command not allowed: memory is full')
end
if string.format('%.0f', held[2]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
return 1
