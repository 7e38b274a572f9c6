import type { Session } from "../sessions.ts";
import { type Html, markup } from "@svc/html";
import { layout } from "./layout.ts";

/** The content of the page. */
export interface AccountPage {
  readonly subject: string;
  readonly email: string | undefined;
  readonly tenant: string | undefined;
  readonly roles: readonly string[];
  readonly sessions: readonly Session[];
  /** The session of the request. */
  readonly family: string | undefined;
}

export function accountPage({ subject, email, tenant, roles, sessions, family }: AccountPage): string {
  const facts: readonly (readonly [string, string])[] = [
    ["Name", subject],
    ["E-mail", email ?? "unknown"],
    ["Tenant", tenant ?? "none"],
    ["Roles", roles.join(", ") || "none"],
  ];
  const main = markup`<h1>Your account</h1>
<table>
<caption class="hidden">Account details</caption>
<tbody>
${facts.map(([name, value]) => markup`<tr><th scope="row">${name}</th><td>${value}</td></tr>`)}
</tbody>
</table>
<form method="post" action="/sign-out"><button>Sign out</button></form>
<h2>Where you are signed in</h2>
<ul class="sessions" role="list">
${sessions.map((session) => item(session, session.family === family))}
</ul>
<form method="post" action="/sign-out-everywhere"><button>Sign out everywhere</button></form>
<p><a href="/reports">Reports</a> · <a href="/">Start page</a></p>`;
  return layout("Your account at Expenses", main);
}

function item({ family, userAgent, created, lastUsed }: Session, isThis: boolean): Html {
  return markup`<li>
<p class="agent">${userAgent || "unknown"}${isThis && markup` <strong>(current session)</strong>`}</p>
<p>Signed in ${time(created)}, last used ${time(lastUsed)}</p>
<form method="post" action="/sessions/${encodeURIComponent(family)}/sign-out">
<button class="plain">Sign out<span class="hidden"> the session of ${minute(created)}${isThis && ", the current session"}</span></button>
</form>
</li>`;
}

function time(moment: Date): Html {
  return markup`<time datetime="${moment.toISOString()}">${minute(moment)}</time>`;
}

function minute(moment: Date): string {
  return `${moment.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
