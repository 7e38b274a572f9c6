import { script } from "@svc/redis/scripts";

/**
 * Returns functions that build the keys. Keys that one script uses in a cluster have the same text in braces, and
 * therefore the same slot.
 */
export function keysWith(prefix: string) {
  return {
    /** Returns the key that marks a session as revoked. */
    family: (fam: string) => `${prefix}f:{${tag(fam)}}`,
    /** Returns the key that marks a refresh token as used. It is in the slot of the token's session. */
    use: (fam: string, jti: string) => `${prefix}u:{${tag(fam)}}${tag(jti)}`,
    /**
     * Returns the key that marks a token as revoked. It has its own slot, since a revocation by id does not name the
     * session.
     */
    token: (jti: string) => `${prefix}j:{${tag(jti)}}`,
    /** Returns the key that holds the time before which a person's sessions are revoked. */
    subject: (sub: string) => `${prefix}s:{${tag(sub)}}`,
  };
}

// Escape closing braces and empty ids, because Redis ends a hash tag at the first closing brace and ignores an empty
// tag. Write unpaired surrogates in hex, because UTF-8 would encode all of them as the same character.
function tag(id: string): string {
  if (id === "") return "%";
  if (!id.isWellFormed()) return `%%${Buffer.from(id, "utf16le").toString("hex")}`;
  return id.includes("}") || id.includes("%") ? id.replace(/[%}]/g, encodeURIComponent) : id;
}

// In Redis 4, a script that reads the time must request replication by effects; later versions always replicate
// effects.
const PROLOGUE = "if redis.replicate_commands then redis.replicate_commands() end\n";

/** Start of a script that returns `late` after the caller's deadline. ARGV[1]: latest server time, in milliseconds. */
const IF_DUE = `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
if now > tonumber(ARGV[1]) then return {'late', now} end
`;

/**
 * KEYS: family, use; on a single server also token and subject.
 * ARGV: latest server time, signed in at, grace ms, used ttl, family ttl, nonce, whether the token is revoked.
 * Returns the result and the server's time; after the caller's deadline returns `late` and changes nothing.
 */
const ROTATE = `${PROLOGUE}${IF_DUE}
if redis.call('EXISTS', KEYS[1]) == 1 then return {'replayed', now} end
local revoked = ARGV[7] == '1'
if KEYS[3] then
  local known = redis.call('MGET', KEYS[3], KEYS[4])
  if known[2] and not (tonumber(ARGV[2]) >= tonumber(known[2])) then return {'replayed', now} end
  if known[1] then revoked = true end
end
if not revoked then
  local mark = string.format('%.0f', now + tonumber(ARGV[3])) .. ':' .. ARGV[6]
  if redis.call('SET', KEYS[2], mark, 'NX', 'PX', ARGV[4]) then return {'rotated', now} end
  local deadline, nonce = string.match(redis.call('GET', KEYS[2]) or '', '^(%d+):(.*)$')
  if deadline and nonce == ARGV[6] then return {'rotated', now} end
  if deadline and now < tonumber(deadline) then return {'raced', now} end
end
redis.call('SET', KEYS[1], '1', 'PX', ARGV[5])
return {'replayed', now}
`;

/**
 * KEYS: the entry. ARGV: its time to live in milliseconds. Never shortens a time to live, and does not add one
 * to a permanent entry.
 */
const REMEMBER = `${PROLOGUE}
local left = redis.call('PTTL', KEYS[1])
if left ~= -1 and left < tonumber(ARGV[1]) then redis.call('SET', KEYS[1], '1', 'PX', ARGV[1]) end
return 1
`;

/** Stores `moment` for the subject and never shortens the time to live. ARGV[2]: ttl. */
const KEEP_MOMENT = `
local left = redis.call('PTTL', KEYS[1])
if left == -1 then
  redis.call('SET', KEYS[1], moment)
else
  local ttl = ARGV[2]
  if left > tonumber(ttl) then ttl = string.format('%.0f', left) end
  redis.call('SET', KEYS[1], moment, 'PX', ttl)
end
`;

/** KEYS: subject. ARGV: not before, ttl. Neither stored value decreases. */
const SIGN_OUT = `${PROLOGUE}
local held = redis.call('GET', KEYS[1])
local moment = ARGV[1]
if held and tonumber(held) > tonumber(moment) then moment = held end
${KEEP_MOMENT}
return 1
`;

/** The second at which a session begins: the server's time, but never before the last sign-out. */
const SIGN_IN_SECOND = `
local second = tonumber(redis.call('TIME')[1])
local held = tonumber(redis.call('GET', KEYS[1]) or '')
if held and held > second then second = math.ceil(held) end
`;

/** KEYS: subject. Returns the second at which a session begins. */
const SIGN_IN_TIME = `${SIGN_IN_SECOND}
return string.format('%.0f', second)
`;

/** KEYS: subject. ARGV: latest server time, ttl. Returns the new `notBefore` and the server's time, or `late`. */
const SIGN_OUT_NOW = `${PROLOGUE}${IF_DUE}${SIGN_IN_SECOND}
local moment = string.format('%.0f', second + 1)
${KEEP_MOMENT}
return {moment, now}
`;

/** Returns the scripts of a store: one for each operation that writes or reads the time. */
export function makeScripts() {
  return {
    rotate: script(ROTATE),
    remember: script(REMEMBER),
    signOut: script(SIGN_OUT),
    signInTime: script(SIGN_IN_TIME),
    signOutNow: script(SIGN_OUT_NOW),
  };
}
