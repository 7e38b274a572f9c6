import { secretNamePatterns } from "@svc/context";

// Every secret contains one of these hints. A scan for them costs a third of a scan for all names.
// prettier-ignore
const hints = [
  "authorization", "cookie", "token", "passw", "passphrase", "pwd", "secret", "key", "credential", ":\\/\\/",
  "bearer", "basic", "eyj",
];

// In a flat list of names and values, such as `rawHeaders`, only the element after a secret header name is redacted: after
// another secret name, such as "token", the next element is usually just another word.
const header = /^(?:(?:proxy-|set-)?(?:authorization|cookie)|x-[\w-]{1,60})$/i;

/** Combines the names that are always secret with an application's names; case, `-` and `_` are ignored. */
export function secretNames(more: readonly string[]) {
  const extra = more.map((name) => name.replaceAll(/[-_]/g, "").split("").map(escapeChar).join("[-_]?"));
  const names = [...secretNamePatterns, ...extra].join("|");
  const everyHint = new RegExp([...hints, ...extra].join("|"), "gi");
  const secret = new RegExp(`(?:${names})$`, "i");
  return {
    /** Returns the position of the next hint at or after `from`, or -1; every secret contains a hint. */
    nextHint(text: string, from: number): number {
      everyHint.lastIndex = from;
      return everyHint.exec(text)?.index ?? -1;
    },
    /** Returns whether a member with this name has a secret value. */
    isSecret: (name: string) => secret.test(name),
    /** Returns whether a header with this name has a secret value. */
    isHeader: (name: string) => header.test(name) && secret.test(name),
    /**
     * Matches a secret name and its separator in a string. Group 1 contains the backslashes before the closing quote of a
     * JSON name, group 2 the separator after a name in plain text.
     */
    named: new RegExp(`(?:${names})(?:(\\\\*)"\\s*:\\s*|['\`]? *([:=]) *)`, "gi"),
  };
}

function escapeChar(char: string): string {
  return char === "." ? "\\." : char;
}
