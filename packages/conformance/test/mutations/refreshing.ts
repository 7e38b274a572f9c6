import { ProblemError } from "@svc/problem";
import { openToken, signToken } from "../support/token-repair.ts";
import type { Mutation } from "./mutation.ts";
import { changing, store } from "./session-changes.ts";
import { now } from "./token-changes.ts";
import {
  lastingAccess,
  logoutsStay,
  prolonging,
  quietReplays,
  racing,
  replaysStay,
  shorter,
  usesStay,
} from "./unsound-stores.ts";

/** Repairs a refresh token with a defect before the service reads it, so that the service accepts it. */
export function overlooked(heal: (claims: Record<string, unknown>) => boolean): Mutation["differences"] {
  return {
    sessions: {
      refresh: (sound) => (raw, signal) => {
        const token = openToken(raw);
        return sound(token !== undefined && heal(token.claims) ? signToken(token) : raw, signal);
      },
    },
  };
}

const declined = (): never => {
  throw new ProblemError(401, "this session is no longer valid", { code: "ERR_TESTED" });
};

export const refreshMutations = (): readonly Mutation[] => [
  {
    rule: "REF-1",
    what: "a refresh token can be used repeatedly until it expires",
    base: "issuing",
    differences: store((sound) => ({
      async rotate({ fam, sub, signedInAt }) {
        return (await sound.isRevoked({ jti: undefined, fam, sub, signedInAt })) ? "replayed" : "rotated";
      },
    })),
    unjudged: ["REF-14", "REF-19", "REF-4", "REF-5", "REF-6", "REF-7", "REV-3"],
  },
  {
    rule: "REF-4",
    what: "a refresh token is checked and marked as used in two steps",
    base: "issuing",
    differences: racing((owner, replica) => owner === replica),
  },
  {
    rule: "REF-19",
    what: "both replicas accept concurrent rotations of one token",
    base: "issuing",
    differences: racing((owner, replica) => owner !== replica),
    unjudged: ["REV-3"],
  },
  {
    rule: "REF-5",
    what: "sending a used token again within the window ends the session",
    base: "issuing",
    differences: store((sound) => ({
      async rotate(rotation) {
        const result = await sound.rotate(rotation);
        if (result === "raced") await sound.revokeFamily(rotation.fam, rotation.familyTtlSeconds);
        return result;
      },
    })),
    unjudged: ["REF-14", "REF-7"],
  },
  {
    rule: "REF-6",
    what: "a replay is refused, but the session continues",
    base: "issuing",
    differences: quietReplays(),
    unjudged: ["REF-7", "REV-3"],
  },
  {
    rule: "REF-6",
    what: "a replay ends only the refresh tokens of a session",
    base: "issuing",
    differences: lastingAccess(),
    unjudged: ["REF-7", "REV-3"],
  },
  {
    rule: "REF-7",
    what: "every use of a used token extends the window",
    base: "issuing",
    differences: prolonging(),
  },
  {
    rule: "REF-14",
    what: "the window is half as long as configured",
    base: "issuing",
    differences: shorter(),
    unjudged: ["REF-7"],
  },
  {
    rule: "REF-12",
    what: "a refresh token without grt gives a session without rights",
    base: "issuing",
    differences: overlooked((all) => {
      const isOld = all["typ"] === "refresh" && all["fam"] !== undefined && all["grt"] === undefined;
      if (isOld) all["grt"] = { scopes: [], roles: [] };
      return isOld;
    }),
  },
  {
    rule: "REF-15",
    what: "sessions never expire",
    base: "issuing",
    differences: overlooked((all) => {
      const isOld = Number(all["auth_time"]) < now() - 86_400;
      if (isOld) all["auth_time"] = now();
      return isOld;
    }),
  },
  {
    rule: "REF-13",
    what: "the 401 for a malformed token says that it has expired",
    base: "issuing",
    differences: changing("/auth/refresh", 401, (body) => {
      if (body["detail"] === "invalid refresh token") body["detail"] = "the refresh token has expired";
    }),
  },
  {
    rule: "REF-13",
    what: "the 401 for a rotated token says that the session was revoked",
    base: "issuing",
    differences: changing("/auth/refresh", 401, (body) => {
      if (String(body["detail"]).includes("rotated")) body["detail"] = "this session has been revoked";
    }),
  },
  {
    rule: "REF-10",
    what: "a declining hook is ignored",
    base: "issuing",
    differences: {
      sessions: {
        hook: (sound, hookState) => (principal, signal) =>
          hookState() === "decline" ? { scopes: ["orders:read"] } : sound(principal, signal),
      },
    },
  },
  {
    rule: "REF-10",
    what: "the access token of a declined session stays valid",
    base: "issuing",
    differences: {
      sessions: {
        refresh: (sound, hookState) => (token, signal) =>
          hookState() === "decline" ? declined() : sound(token, signal),
      },
    },
  },
  {
    rule: "REF-11",
    what: "an error thrown by the hook counts as declining",
    base: "issuing",
    differences: {
      sessions: {
        hook: (sound, hookState) => (principal, signal) =>
          hookState() === "fail" ? undefined : sound(principal, signal),
      },
    },
  },
  {
    rule: "REF-11",
    what: "the refresh token is consumed before the hook is called",
    base: "issuing",
    differences: usedUpWhen("fail"),
  },
  {
    rule: "REF-16",
    what: "the scopes of the hook are ignored",
    base: "issuing",
    differences: {
      sessions: {
        hook: (sound, hookState) => (principal, signal) =>
          hookState() === "grant" ? { scopes: ["orders:read", "orders:write"] } : sound(principal, signal),
      },
    },
  },
  {
    rule: "REV-3",
    what: "a replay ends the session on one replica only",
    base: "issuing",
    differences: replaysStay(),
  },
  {
    rule: "REF-19",
    what: "every replica remembers only its own used tokens",
    base: "issuing",
    differences: usesStay(),
    unjudged: ["REV-3"],
  },
  {
    rule: "REV-11",
    what: "a logout takes effect on one replica only",
    base: "issuing",
    differences: logoutsStay(),
  },
];

/**
 * Rejects a refresh token that was sent while the hook was in the given state, once the hook has left that state.
 */
function usedUpWhen(state: string): Mutation["differences"] {
  const used = new Set<string>();
  return {
    sessions: {
      refresh: (sound, hookState) => (token, signal) => {
        if (hookState() === state) used.add(token);
        else if (used.has(token)) {
          throw new ProblemError(401, "this refresh token has already been rotated", { code: "ERR_TESTED" });
        }
        return sound(token, signal);
      },
    },
  };
}
