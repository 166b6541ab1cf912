local held = redis.call('EXGET', KEYS[1])
local words = {'EXSET', KEYS[1], ARGV[3]}
local left = ARGV[4]
local version
if held then
  if ARGV[1] == 'create' then return {'moved'} end
  -- Numbers round from 2^53 up: such versions are none of ours.
  if held[2] >= 9223372036854774784 then return {'end'} end
  if held[2] >= 9007199254740991 then return {'far'} end
  if left == 'keep' then left = redis.call('PTTL', KEYS[1]) end
  table.insert(words, 'XX')
else
  version = ARGV[2]
  if version == 'clock' then
    local now = redis.call('TIME')
    version = string.format('%.0f', now[1] * 1000000 + now[2])
  end
  table.insert(words, 'NX')
  table.insert(words, 'ABS')
  table.insert(words, version)
end
left = tonumber(left)
if left and left >= 0 then
  table.insert(words, 'PX')
  table.insert(words, string.format('%.0f', math.max(left, 1)))
end
table.insert(words, 'WITHVERSION')
local written = redis.call(unpack(words))
-- What the reply says is rounded from 2^53 up; what we said is not.
return {'done', version or string.format('%.0f', written)}
