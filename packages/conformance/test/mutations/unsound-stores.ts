import { setTimeout as sleep } from "node:timers/promises";
import type { Rotation, TokenStore } from "@svc/token-store";
import type { Mutation } from "./mutation.ts";
import { store } from "./session-changes.ts";

/** Wraps `rotate`: the first rotation of a refresh token uses the sound store, and `again` decides every later one. */
function watched(
  sound: TokenStore,
  rotatedAt: Map<string, number>,
  again: (rotation: Rotation, sinceSeconds: number) => ReturnType<TokenStore["rotate"]>,
): TokenStore["rotate"] {
  return async (rotation) => {
    const at = rotatedAt.get(rotation.jti);
    if (at !== undefined) return again(rotation, (performance.now() - at) / 1000);
    const result = await sound.rotate(rotation);
    if (result === "rotated") rotatedAt.set(rotation.jti, performance.now());
    return result;
  };
}

/** Accepts a rotation while the same token is already being rotated, if `fits` returns true. */
export function racing(fits: (owner: number, replica: number) => boolean): Mutation["differences"] {
  const byReplica = [new Map<string, number>(), new Map<string, number>()];
  return store((sound, replica) => ({
    async rotate(rotation) {
      const { jti } = rotation;
      if (byReplica.some((underWay, owner) => underWay.has(jti) && fits(owner, replica))) return "rotated";
      byReplica[replica]?.set(jti, replica);
      try {
        await sleep(40);
        return await sound.rotate(rotation);
      } finally {
        byReplica[replica]?.delete(jti);
      }
    },
  }));
}

export function quietReplays(): Mutation["differences"] {
  const rotatedAt = new Map<string, number>();
  return store((sound) => ({
    rotate: watched(sound, rotatedAt, (rotation, since) =>
      since > rotation.graceSeconds ? "raced" : sound.rotate(rotation),
    ),
  }));
}

export function forgetful(): Mutation["differences"] {
  const rotatedAt = new Map<string, number>();
  const last = new Map<string, string>();
  return store((sound) => {
    const again = watched(sound, rotatedAt, (rotation) =>
      last.get(rotation.fam) === rotation.jti ? sound.rotate(rotation) : "raced",
    );
    return {
      async rotate(rotation) {
        const result = await again(rotation);
        if (result === "rotated") last.set(rotation.fam, rotation.jti);
        return result;
      },
    };
  });
}

export function lastingAccess(): Mutation["differences"] {
  const replayed = new Set<string>();
  return store((sound) => ({
    // An access token is looked up with its jti, a refresh token without.
    isRevoked: (token) =>
      token.jti !== undefined && replayed.has(token.fam ?? "") ? false : sound.isRevoked(token),
    async rotate(rotation) {
      const result = await sound.rotate(rotation);
      if (result === "replayed") replayed.add(rotation.fam);
      return result;
    },
  }));
}

export function prolonging(): Mutation["differences"] {
  const presentedAt = new Map<string, number>();
  return store((sound) => ({
    rotate: watched(sound, presentedAt, (rotation, since) => {
      if (since > rotation.graceSeconds) return sound.rotate(rotation);
      presentedAt.set(rotation.jti, performance.now());
      return "raced";
    }),
  }));
}

export function shorter(): Mutation["differences"] {
  const rotatedAt = new Map<string, number>();
  return store((sound) => ({
    rotate: watched(sound, rotatedAt, async (rotation, since) => {
      if (since < rotation.graceSeconds / 2) return sound.rotate(rotation);
      await sound.revokeFamily(rotation.fam, rotation.familyTtlSeconds);
      return "replayed";
    }),
  }));
}

export function replaysStay(): Mutation["differences"] {
  const rotatedAt = new Map<string, number>();
  return store((sound) => {
    const ended = new Set<string>();
    return {
      isRevoked: (token) => ended.has(token.fam ?? "") || sound.isRevoked(token),
      rotate: watched(sound, rotatedAt, (rotation, since) => {
        if (since < rotation.graceSeconds) return sound.rotate(rotation);
        ended.add(rotation.fam);
        return "replayed";
      }),
    };
  });
}

export function usesStay(): Mutation["differences"] {
  return store((sound, replica) => ({
    rotate: (rotation) => sound.rotate({ ...rotation, jti: `${replica}${rotation.jti}` }),
  }));
}

export function logoutsStay(): Mutation["differences"] {
  return store((sound) => {
    const ended = new Set<string>();
    return {
      isRevoked: (token) =>
        ended.has(token.fam ?? "") || ended.has(token.jti ?? "") || sound.isRevoked(token),
      async revokeFamily(fam) {
        // Query the store first, so that a logout still fails while the store is down.
        await sound.isRevoked({ jti: undefined, fam, sub: "ann", signedInAt: 0 });
        ended.add(fam);
      },
      revoke: (jti) => void ended.add(jti),
    };
  });
}
