import { type Check, check, every, given, must, notApplicable, type Verdict } from "../check.ts";
import type { HttpClient } from "../http-client.ts";
import type { Kit } from "../kit.ts";
import { isRefusal } from "./callers.ts";
import { hasEnded, replay, replayAt } from "./grace.ts";
import { needs } from "./pairs.ts";
import { isReusable, logout, refresh, signIn, visit } from "./session-calls.ts";

const withReplica = [...needs, "replica"] as const;
const raceRounds = 10;
const logoutRounds = 3;

/** Presents one token at both replicas concurrently, several times. */
function races(kit: Kit, replica: HttpClient): Promise<Verdict> {
  return kit.once("races", async () => {
    const verdicts: Verdict[] = [];
    for (let round = 0; round < raceRounds; round++) {
      const { refresh: token } = await signIn(kit);
      const answers = await Promise.all([refresh(kit, token), refresh(kit, token, replica)]);
      const won = answers.filter(({ ok }) => ok).length;
      verdicts.push(must(won === 1, `${won} pairs for a token that both replicas got at once`, "one"));
    }
    return every(verdicts);
  });
}

export const replicaChecks: readonly Check[] = [
  check("REF-19", { needs: withReplica }, async (kit) => {
    if (await isReusable(kit)) return notApplicable("see REF-1");
    return races(kit, given(kit.replica));
  }),
  check("REV-3", { needs: withReplica, windowed: true }, async (kit) => {
    const replica = given(kit.replica);
    // Both wait for the window to close.
    const [own, session] = await Promise.all([replay(kit), replayAt(kit, replica)]);
    if (!own.hasEnded) return notApplicable("see REF-6");
    if ((await races(kit, replica)).status === "fail") return notApplicable("see REF-19");
    if (session === undefined) return notApplicable("see REF-1");
    const { status } = session.again;
    return every([
      must(status === 401, `${status} from the second replica for a token that was used at the first`, "401"),
      await hasEnded(kit, session, replica),
      await hasEnded(kit, session),
    ]);
  }),
  check("REV-11", { needs: withReplica, alone: true }, async (kit) => {
    const replica = given(kit.replica);
    const verdicts: Verdict[] = [];
    for (let round = 0; round < logoutRounds; round++) {
      const session = await signIn(kit);
      // Let the second replica see the token, because it may cache that it was valid.
      const before = await visit(kit, session.access, replica);
      await logout(kit, session.access);
      if (!isRefusal(await visit(kit, session.access)) || !isRefusal(await refresh(kit, session.refresh))) {
        return notApplicable("see ISS-5");
      }
      const visited = await visit(kit, session.access, replica);
      const renewed = await refresh(kit, session.refresh, replica);
      verdicts.push(
        must(before.ok, `${before.status} at the second replica before the logout`, "an answer"),
        must(isRefusal(visited), `${visited.status} at the second replica after a logout`, "401"),
        must(isRefusal(renewed), `${renewed.status} for a refresh at the second replica after it`, "401"),
      );
    }
    return every(verdicts);
  }),
];
