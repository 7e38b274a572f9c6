import { type Script, script } from "@svc/redis";

/**
 * Publishes messages. KEYS: stream, ids. ARGV: window in ms, maximum length of a stream without groups, then for each
 * message its id, its key ("1" followed by the key, or "0") and its body. Skips a message whose id is known. When a
 * message fails, the messages before it remain stored. An id is recorded only after its message is stored.
 */
export const PUBLISH: Script = script(`
local window = tonumber(ARGV[1])
local now = 0
if window > 0 then
  local time = redis.call('TIME')
  now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', string.format('%.0f', now - window))
end
local added = 0
for at = 3, #ARGV, 3 do
  if window == 0 or not redis.call('ZSCORE', KEYS[2], ARGV[at]) then
    if string.sub(ARGV[at + 1], 1, 1) == '1' then
      redis.call('XADD', KEYS[1], '*', 'id', ARGV[at], 'key', string.sub(ARGV[at + 1], 2), 'body', ARGV[at + 2])
    else
      redis.call('XADD', KEYS[1], '*', 'id', ARGV[at], 'body', ARGV[at + 2])
    end
    added = added + 1
    if window > 0 then redis.call('ZADD', KEYS[2], string.format('%.0f', now), ARGV[at]) end
  end
end
if window > 0 then redis.call('PEXPIRE', KEYS[2], ARGV[1]) end
if ARGV[2] ~= '0' and #redis.call('XINFO', 'GROUPS', KEYS[1]) == 0 then
  redis.call('XTRIM', KEYS[1], 'MAXLEN', '~', ARGV[2])
end
return added`);

/**
 * Takes over entries that were idle for the given time. Returns them with their delivery counts. KEYS: stream. ARGV:
 * group, consumer, idle ms, cursor, count.
 */
export const RECLAIM: Script = script(`
local got = redis.call('XAUTOCLAIM', KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4], 'COUNT', ARGV[5])
local entries = {}
for _, entry in ipairs(got[2]) do
  if entry and entry[2] then
    local seen = redis.call('XPENDING', KEYS[1], ARGV[1], entry[1], entry[1], 1)
    entries[#entries + 1] = { entry[1], entry[2], seen[1] and seen[1][4] or 1 }
  end
end
return { got[1], entries }`);

/**
 * Signals that the consumer is alive. Returns the ids of the entries that it has lost. KEYS: stream. ARGV: group,
 * consumer, ids.
 */
export const REFRESH: Script = script(`
local lost = {}
for at = 3, #ARGV do
  if #redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[at], ARGV[at], 1, ARGV[2]) == 0 then
    lost[#lost + 1] = ARGV[at]
  else
    redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[at], 'JUSTID')
  end
end
return lost`);

/**
 * Makes the consumer's entries available to other consumers immediately, and removes the consumer if it holds none.
 * KEYS: stream. ARGV: group, consumer, idle ms, then for each entry its id and its delivery count.
 */
export const RELEASE: Script = script(`
for at = 4, #ARGV, 2 do
  if #redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[at], ARGV[at], 1, ARGV[2]) > 0 then
    redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[at], 'IDLE', ARGV[3], 'RETRYCOUNT', ARGV[at + 1], 'JUSTID')
  end
end
local rest = redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 10000, ARGV[2])
for _, entry in ipairs(rest) do
  redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, entry[1], 'IDLE', ARGV[3], 'JUSTID')
end
if #rest == 0 then redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2]) end
return #rest`);

/**
 * Removes the group's long-dead consumers that hold no entries, then all entries that every group has acknowledged,
 * except the last one. KEYS: stream. ARGV: group, consumer, ms after which a consumer counts as dead.
 */
export const TIDY: Script = script(`
local function field(list, name)
  for at = 1, #list, 2 do if list[at] == name then return list[at + 1] end end
end
local function before(a, b)
  local am, as = string.match(a, '^(%d+)-(%d+)$')
  local bm, bs = string.match(b, '^(%d+)-(%d+)$')
  if tonumber(am) ~= tonumber(bm) then return tonumber(am) < tonumber(bm) end
  return tonumber(as) < tonumber(bs)
end
for _, consumer in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
  local name = field(consumer, 'name')
  if name ~= ARGV[2] and field(consumer, 'pending') == 0 and field(consumer, 'idle') > tonumber(ARGV[3]) then
    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], name)
  end
end
local floor
for _, group in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
  local low = field(group, 'last-delivered-id')
  local first = redis.call('XPENDING', KEYS[1], field(group, 'name'))[2]
  if first and before(first, low) then low = first end
  if not floor or before(low, floor) then floor = low end
end
if not floor or floor == '0-0' then return 0 end
local trimmed = redis.call('XTRIM', KEYS[1], 'MINID', '~', floor, 'LIMIT', 10000)
if trimmed < 10000 then trimmed = trimmed + redis.call('XTRIM', KEYS[1], 'MINID', '=', floor) end
return trimmed`);
