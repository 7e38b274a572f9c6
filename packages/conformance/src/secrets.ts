import { isObject } from "./answer.ts";
import { requestOf } from "./requests.ts";
import type { Settings } from "./settings.ts";

/** Matches the names of members and headers whose values must not appear in a report. */
const telling = /pass|secret|pin$|otp|code|key|token|credential|authorization|cookie/i;
/** Shorter values occur in too many unrelated messages to be censored. */
const shortest = 4;

/** Returns a function that removes the kit's secrets from a string: a service may echo them. */
export function createCensor({ keys, probes }: Settings): (text: string) => string {
  const { session } = probes;
  const request = session && requestOf(session.request);
  const given = [
    keys?.secret,
    ...(request?.headers ?? []).filter(([name]) => telling.test(name)).map(([, value]) => value),
    ...secretsIn(typeof session?.request === "object" ? session.request.body : undefined, false),
  ];
  const secrets = new Set(
    given
      .filter((text) => text !== undefined && text.length >= shortest)
      // A secret may appear as plain text or JSON-escaped.
      .flatMap((text = "") => [text, JSON.stringify(text).slice(1, -1)]),
  );
  return (text) => [...secrets].reduce((clean, secret) => clean.replaceAll(secret, "<secret>"), text);
}

function secretsIn(value: unknown, isTelling: boolean): readonly string[] {
  if (typeof value === "string" && isTelling) return [value];
  if (Array.isArray(value)) return value.flatMap((each) => secretsIn(each, isTelling));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, each]) => secretsIn(each, isTelling || telling.test(name)));
}
