import { demoPassword, demoUsers } from "../demo-users.ts";
import { type Html, markup } from "./html.ts";
import { layout } from "./layout.ts";

/** What the page has to know about the service. */
export interface StartPageFacts {
  /** Where the service listens; shown in the example call. */
  readonly port: number | undefined;
  /** Some pages are not there then. */
  readonly isProduction: boolean;
  /** Whether the people of the demo are there. */
  readonly hasDemoUsers: boolean;
}

const links = [
  ["/sign-in", "be somebody of a tenant, with a password"],
  ["/reports", "what a tenant spent by month, as charts, for its people, who sign in first"],
  ["/receipts", "a search through its receipts, by likeness and by words, for its people, who sign in first"],
  ["/whoami", "a route for everybody, signed in or not"],
  ["/expenses", "the expenses of a tenant, without a token: a 401 problem"],
  ["/nowhere", "a path that does not exist: a 404 problem"],
  ["/health", "is it up?"],
  ["/ready", "can it serve? With what it found out about its database"],
  ["/info", "what is in it?"],
  ["/metrics", "how many requests, how fast?"],
  ["/queue", "what waits to be done, for operators, who sign in first"],
] as const;

const notInProduction: readonly string[] = ["/info", "/queue"];

/** What a newcomer sees first: an HTML document. */
export function startPage({ port = 8000, isProduction, hasDemoUsers }: StartPageFacts): string {
  const items = links
    .filter(([href]) => !isProduction || !notInProduction.includes(href))
    .map(([href, text]) => markup`<li><a href="${href}">${href}</a>: ${text}</li>`);
  const main = markup`<h1>Expenses</h1>
<p>A small service that keeps the expenses of many tenants in PostgreSQL. Those of the demo are
harbour-cafe, nordic-bikes and stone-and-leaf.</p>
<h2>Links to try</h2>
<ul>
${items}
</ul>
${hasDemoUsers && demoCalls(`http://localhost:${port}`, port)}`;
  return layout("Expenses: the example service", main);
}

function demoCalls(origin: string, port: number): Html {
  const [clerk, admin] = demoUsers.map(({ email }) => logIn(origin, email));
  return markup`<h2>Be somebody</h2>
<p>Somebody of a tenant sees the expenses of that tenant, whatever is asked for. The password of everybody in the demo is
<code>${demoPassword}</code>. In a browser: <a href="/sign-in">sign in</a>. In a shell:</p>
<pre tabindex="0">TOKEN=${clerk}

# the newest expenses of the café, and those of one month
curl -H "Authorization: Bearer $TOKEN" '${origin}/expenses?limit=5'
curl -H "Authorization: Bearer $TOKEN" '${origin}/expenses?month=2026-03&amp;category=travel'

# six figures of every month and category, and of a month alone
curl -H "Authorization: Bearer $TOKEN" '${origin}/reports/monthly?from=2026-01&amp;to=2026-03'

# record one
curl -i -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
  -d '{"category":"meals","amount":"12.50","paid_at":"2026-03-01T12:00:00Z"}' ${origin}/expenses

# a route for admins, with the token of one and without
ADMIN=${admin}
curl -H "Authorization: Bearer $ADMIN" ${origin}/totals
curl -H "Authorization: Bearer $TOKEN" ${origin}/totals

# another tenant's address: 403
curl -H "Authorization: Bearer $TOKEN" http://nordic-bikes.localhost:${port}/expenses</pre>`;
}

function logIn(origin: string, email: string): string {
  const body = JSON.stringify({ email, password: demoPassword });
  const first = "node -pe 'JSON.parse(fs.readFileSync(0)).access_token'";
  return `$(curl -s ${origin}/login -H 'Content-Type: application/json' -d '${body}' | ${first})`;
}
