import { ProblemError } from "@svc/problem";
import { expectEqual } from "../../harness/expect-equal.ts";
import type { Subject } from "../../harness/subject.ts";
import { IN_FLIGHT, inFlight } from "../in-flight.ts";
import { createIssuing, type Issuing, pairRequest, provePairs, tampered } from "../issuing.ts";
import { openStore, type Place } from "../stores.ts";

/** Refreshes sessions repeatedly, one session for each request in flight. The setting is the store and its address. */
export async function start(setting: string): Promise<Subject> {
  const issuing = createIssuing("HS256", await openStore(JSON.parse(setting) as Place));
  const { issuer } = issuing;
  const tokens = await Promise.all(
    Array.from({ length: IN_FLIGHT }, async () => (await issuer.issuePair(pairRequest)).refresh_token),
  );
  return {
    async prove() {
      await provePairs(issuing, "HS256");
      await proveRotation(issuing);
    },
    run: (count) =>
      inFlight(count, async (lane) => {
        tokens[lane] = (await issuer.refresh(tokens[lane] ?? "")).refresh_token;
      }),
  };
}

/** @throws Error unless a refresh uses up its token, and only a valid token of a live session is refreshed */
export async function proveRotation({ issuer, verify }: Issuing): Promise<void> {
  const first = await issuer.issuePair(pairRequest);
  expectEqual("a bad signature", await refusalOf(tampered(first.refresh_token)), "invalid refresh token");
  const access = "an access token cannot be used to refresh";
  expectEqual("an access token", await refusalOf(first.access_token), access);
  const second = await issuer.refresh(first.refresh_token);
  const { principal } = await verify(second.access_token);
  expectEqual("the scopes after a refresh", principal?.scopes.length, 3);
  const used = "this refresh token has already been rotated";
  expectEqual("a token that was used", await refusalOf(first.refresh_token), used);
  const third = await issuer.refresh(second.refresh_token);
  if (principal !== undefined) await issuer.logout(principal);
  const over = "this session has been revoked";
  expectEqual("a session that was ended", await refusalOf(third.refresh_token), over);

  async function refusalOf(token: string): Promise<string | undefined> {
    try {
      await issuer.refresh(token);
    } catch (error) {
      if (error instanceof ProblemError) return error.detail;
      throw error;
    }
    return undefined;
  }
}
