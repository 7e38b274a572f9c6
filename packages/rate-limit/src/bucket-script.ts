import { type Script, script } from "@svc/redis/scripts";

/**
 * Takes tokens from a bucket. KEYS: the bucket. ARGV: limit, window in seconds, burst, cost, lifetime in seconds. Returns the
 * micro-tokens that are left, or `-1 - micro-tokens` if there were too few.
 *
 * The value of a key is `micro-tokens microseconds`, both whole: Lua would turn larger floats into text with 14 digits. A
 * refusal writes nothing, because the level then follows from the last write. If the clock of Redis has been set back, even
 * a refusal writes: the bucket gains nothing for the difference and follows the new clock, instead of waiting for the old time.
 */
export const takeScript: Script = script(`
local limit, window, burst = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local price = tonumber(ARGV[4]) * 1000000
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local full = burst * 1000000
local level, clock_went_back = full, false
local stored = redis.call('GET', KEYS[1])
if stored then
  local micro_tokens, at = string.match(stored, '^(%d+) (%d+)$')
  if micro_tokens then
    local elapsed = now - tonumber(at)
    clock_went_back = elapsed < 0
    if clock_went_back then elapsed = 0 end
    level = math.min(full, tonumber(micro_tokens) + math.floor(elapsed * limit / window))
  end
end
local is_admitted = level >= price
if is_admitted then level = level - price end
if is_admitted or clock_went_back then
  redis.call('SET', KEYS[1], string.format('%.0f %.0f', level, now), 'EX', ARGV[5])
end
if is_admitted then return level end
return -1 - level
`);
