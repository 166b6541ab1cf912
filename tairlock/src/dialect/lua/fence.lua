local held = redis.call('GET', KEYS[1])
if held and held ~= ARGV[1] then return {'busy'} end
local mark = redis.pcall('GET', KEYS[2])
if type(mark) == 'table' then
  if string.find(mark.err, 'WRONGTYPE', 1, true) then return {'mark'} end
  return mark
end
local last, owner
if mark then
  last, owner = string.match(mark, '^([1-9]%d*) (.*)$')
  if not last then return {'mark'} end
end
if held and owner == ARGV[1] then return {'ours', last} end
local now = redis.call('TIME')
local fence = string.format('%.0f', now[1] * 1000000 + now[2])
-- As text, by length first: numbers of so many digits are rounded where they are turned into text.
if last and (#last > #fence or (#last == #fence and last >= fence)) then
  if #last > 16 or (#last == 16 and last >= '9007199254740991') then return {'end'} end
  fence = string.format('%.0f', last + 1)
end
redis.call('SET', KEYS[2], fence .. ' ' .. ARGV[1], 'PX', ARGV[3])
if held then return {'ours', fence} end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return {'granted', fence}
