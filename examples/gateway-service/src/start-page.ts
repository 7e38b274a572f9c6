/** The facts about the gateway that the page shows. */
export interface StartPageFacts {
  /** Whether the gateway shows its spans. */
  readonly hasTraces: boolean;
}

const links = [
  ["/sign-in", "sign in with a password, or through the demo provider"],
  ["/reports", "charts of a tenant's spending by month, after sign-in"],
  ["/receipts", "a search through a tenant's receipts, after sign-in"],
  ["/account", "the user and the sessions, after sign-in"],
  ["/ready", "readiness of the gateway, with the services behind it"],
  ["/debug/traces", "the last requests of the gateway; the other services show theirs on their own ports"],
] as const;

/** Returns the start page as an HTML document, without scripts and styles. */
export function startPage({ hasTraces }: StartPageFacts): string {
  const items = links
    .filter(([href]) => hasTraces || href !== "/debug/traces")
    .map(([href, text]) => `<li><a href="${href}">${href}</a>: ${text}</li>`);
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Expenses and receipts</title></head>
<body>
<main>
<h1>Expenses and receipts</h1>
<p>A gateway with two services behind it: the expenses service, and the receipts service, which the expenses service calls
for every recorded expense.</p>
<ul>
${items.join("\n")}
</ul>
</main>
</body>
</html>
`;
}
