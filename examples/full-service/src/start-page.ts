/** What the page has to know about the service. */
export interface StartPageFacts {
  /** Where the service listens; shown in the example call. */
  readonly port: number | undefined;
  /** Whether there is `/info`. */
  readonly hasInfo: boolean;
  /** Whether there is `/demo/token`. */
  readonly hasDemoTokens: boolean;
}

const links = [
  ["/whoami", "a route for everybody, signed in or not"],
  ["/expenses", "the expenses of a tenant, without a token: a 401 problem"],
  ["/nowhere", "a path that does not exist: a 404 problem"],
  ["/health", "is it up?"],
  ["/ready", "can it serve? With what it found out about its database"],
  ["/info", "what is in it?"],
  ["/metrics", "how many requests, how fast?"],
] as const;

/** What a newcomer sees first: an HTML document. */
export function startPage({ port = 8000, hasInfo, hasDemoTokens }: StartPageFacts): string {
  const items = links
    .filter(([href]) => hasInfo || href !== "/info")
    .map(([href, text]) => [href.replaceAll("&", "&amp;"), text] as const)
    .map(([href, text]) => `<li><a href="${href}">${href}</a>: ${text}</li>`);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Expenses: the example service</title>
<link rel="icon" href="data:,">
<style>
body {
  font: 1rem/1.5 system-ui, sans-serif;
  max-width: 44rem; margin: 2rem auto; padding: 0 1rem;
  color: #1c1c1c; background: #fff;
}
a { color: #0b4f9e; overflow-wrap: anywhere; }
a:focus-visible, pre:focus-visible { outline: 3px solid #0b4f9e; outline-offset: 2px; }
pre { background: #f2f2f2; padding: .75rem; overflow-x: auto; }
</style>
</head>
<body>
<main>
<h1>Expenses</h1>
<p>A small service that keeps the expenses of many tenants in PostgreSQL. Those of the demo are
harbour-cafe, nordic-bikes and stone-and-leaf.</p>
<h2>Links to try</h2>
<ul>
${items.join("\n")}
</ul>
${hasDemoTokens ? demoCalls(port) : ""}
</main>
</body>
</html>
`;
}

function demoCalls(port: number): string {
  const origin = `http://localhost:${port}`;
  return `<h2>Be somebody</h2>
<p>Somebody of a tenant sees the expenses of that tenant, whatever is asked for.</p>
<pre tabindex="0">TOKEN=$(curl -s '${origin}/demo/token?tenant=harbour-cafe')

# the newest expenses of the café, and those of one month
curl -H "Authorization: Bearer $TOKEN" '${origin}/expenses?limit=5'
curl -H "Authorization: Bearer $TOKEN" '${origin}/expenses?month=2026-03&amp;category=travel'

# record one
curl -i -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
  -d '{"category":"meals","amount":"12.50","paid_at":"2026-03-01T12:00:00Z"}' ${origin}/expenses

# a route for admins, with the token of one and without
curl -H "Authorization: Bearer $(curl -s '${origin}/demo/token?tenant=harbour-cafe&amp;role=admin')" ${origin}/totals
curl -H "Authorization: Bearer $TOKEN" ${origin}/totals

# another tenant's address: 403
curl -H "Authorization: Bearer $TOKEN" http://nordic-bikes.localhost:${port}/expenses</pre>`;
}
