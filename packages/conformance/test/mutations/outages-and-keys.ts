import { ProblemError } from "@svc/problem";
import { firstKid } from "../support/session-service.ts";
import { bearerOf, openToken, setBearer } from "../support/token-repair.ts";
import type { Layer } from "../support/mutating-layer.ts";
import type { Mutation } from "./mutation.ts";
import { answerJson, json } from "./report-changes.ts";
import { dressed, during, isLogout } from "./session-changes.ts";

const withoutStore = (layer: (isOut: () => boolean) => Layer): Layer =>
  during("/store/break", "/store/restore", layer);

/** Omits keys from the published key set after the kit has requested `begin`, until it requests `end`. */
function published(
  begin: string,
  end: string,
  keep: (key: { readonly kid: string }) => boolean,
): Mutation["differences"] {
  return during(begin, end, (isOn) => ({
    answer(answer) {
      if (answer.path !== "/.well-known/jwks.json" || !isOn()) return;
      const body = answer.json() as { readonly keys: readonly { readonly kid: string }[] };
      answer.setJson({ keys: body.keys.filter(keep) });
    },
  }));
}

export const outageMutations = (): readonly Mutation[] => [
  {
    rule: "RDY-16",
    what: "the check of the cache is critical",
    base: "issuing",
    differences: json("/ready", (body) => ({
      ...body,
      checks: {
        ...(body["checks"] as object),
        cache: { healthy: true, detail: "fine", critical: true, status: "ok" },
      },
    })),
  },
  {
    rule: "RDY-22",
    what: "/ready does not report the outage of the store",
    base: "issuing",
    differences: withoutStore((isOut) => ({
      answer(answer) {
        if (answer.path !== "/ready" || !isOut()) return;
        const body = answer.json();
        const { auth, ...checks } = body["checks"] as Record<string, object>;
        const fine = { ...auth, healthy: true, status: "ok" };
        answer.setJson({ ...body, status: "ok", checks: { ...checks, auth: fine } });
      },
    })),
  },
  {
    rule: "REV-4",
    what: "all callers are refused during the outage of the store",
    base: "issuing",
    differences: withoutStore((isOut) => ({
      request: (req, res) =>
        isOut() && req.url === "/mine" ? answerJson(res, 503, { detail: "try again" }) : false,
    })),
  },
  {
    rule: "ISS-17",
    what: "a logout reports success during the outage of the store",
    base: "issuing",
    differences: withoutStore((isOut) => ({
      request(req, res) {
        if (!isOut() || !isLogout(req)) return false;
        res.writeHead(204).end();
        return true;
      },
    })),
  },
  {
    rule: "REF-17",
    what: "a refresh during the outage of the store gets a 500",
    base: "issuing",
    differences: {
      answer(answer) {
        if (answer.path !== "/auth/refresh" || answer.status !== 503) return;
        answer.status = 500;
      },
    },
  },
  {
    rule: "REF-17",
    what: "a refresh during the outage of the store consumes the refresh token",
    base: "issuing",
    differences: usedUp(),
  },
  {
    rule: "REV-5",
    what: "tokens are accepted during the outage although fail_open is off",
    base: "ring",
    differences: { toml: [["revocation_fail_open = false", "revocation_fail_open = true"]] },
    unjudged: ["REV-6"],
  },
  {
    rule: "REV-6",
    what: "the detail of the 503 has another wording",
    base: "ring",
    differences: {
      answer(answer) {
        if (answer.path !== "/mine" || answer.status !== 503) return;
        answer.setJson({ ...answer.json(), detail: "try again" });
      },
    },
  },
  {
    rule: "REV-6",
    what: "an open route does not check whether the token was revoked",
    base: "ring",
    differences: withoutStore((isOut) => ({
      request(req) {
        if (isOut() && req.url === "/open") setBearer(req, undefined);
      },
    })),
  },
  {
    rule: "REV-6",
    what: "the 503 has no Retry-After",
    base: "ring",
    differences: {
      head: (res, req) => void (req.url === "/mine" && res.removeHeader("Retry-After")),
    },
  },
  {
    rule: "KEY-3",
    what: "the previous key is removed from the set when it is replaced",
    base: "ring",
    differences: published("/keys/promote", "", ({ kid }) => kid !== firstKid()),
  },
  {
    rule: "KEY-3",
    what: "tokens of the previous key are refused",
    base: "ring",
    differences: during("/keys/promote", "", (isOn) => ({
      request(req) {
        const kid = openToken(bearerOf(req) ?? "")?.header["kid"];
        if (isOn() && kid === firstKid()) setBearer(req, undefined);
      },
    })),
  },
  {
    rule: "KEY-3",
    what: "a key signs tokens before it is published",
    base: "ring",
    differences: published("/keys/add", "/keys/promote", ({ kid }) => kid === firstKid()),
  },
  {
    rule: "KEY-3",
    what: "the next key is the previous key under another kid",
    base: "ring",
    differences: renamed(),
  },
];

/**
 * Publishes the first key under the kid of the next one. Tokens of the next key are signed again with the first key
 * when they leave the service, and restored when they return.
 */
function renamed(): Mutation["differences"] {
  const { answer: rename, ...layer } = dressed(({ header }) => {
    const isNext = header["kid"] !== firstKid();
    if (isNext) header["alg"] = "RS256";
    return isNext;
  });
  return {
    ...layer,
    answer(answer, req) {
      rename?.(answer, req);
      if (answer.path !== "/.well-known/jwks.json") return;
      const { keys } = answer.json() as { readonly keys: readonly { readonly kid: string }[] };
      const first = keys.find(({ kid }) => kid === firstKid());
      answer.setJson({ keys: keys.map(({ kid }) => ({ ...first, kid })) });
    },
  };
}

function usedUp(): Mutation["differences"] {
  const used = new Set<string>();
  return {
    sessions: {
      refresh: (sound) => async (token, signal) => {
        if (used.has(token))
          throw new ProblemError(401, "this session has been revoked", { code: "ERR_TESTED" });
        try {
          return await sound(token, signal);
        } catch (error) {
          if (error instanceof ProblemError && error.status === 503) used.add(token);
          throw error;
        }
      },
    },
  };
}
