import { demoPassword, demoUsers } from "../demo-users.ts";
import { home } from "../return-to.ts";
import { markup } from "@svc/html";
import { layout } from "./layout.ts";

/** Rights of a demo user in addition to the rights of every user. */
const abilities: Readonly<Record<string, string>> = {
  admin: ", may see totals",
  operator: ", manages the queue",
};

/** The content of the page. */
export interface SignInPage {
  /** The page after the sign-in: a path of this site. */
  readonly returnTo: string;
  /** Names of the sign-in providers. */
  readonly providers: readonly string[];
  /** Whether the demo users are shown, with their password. */
  readonly isDemo: boolean;
  /** The error of the previous attempt. Default: none. */
  readonly error?: string | undefined;
  /** The email address entered in the previous attempt. Default: empty. */
  readonly email?: string | undefined;
  /** A message about the previous session. Default: none. */
  readonly note?: string | undefined;
}

export function signInPage({ returnTo, providers, isDemo, error, email = "", note }: SignInPage): string {
  const wrong = error !== undefined && markup` aria-invalid="true" aria-describedby="error"`;
  const again = error !== undefined && markup` autofocus`;
  const main = markup`<h1>Sign in</h1>
${note !== undefined && markup`<p class="note" role="status">${note}</p>`}
<form method="post" action="/login">
${error !== undefined && markup`<p class="error" id="error" role="alert">${error}</p>`}
<input type="hidden" name="return_to" value="${returnTo}">
<label for="email">E-mail</label>
<input id="email" name="email" type="email" autocomplete="username" required maxlength="254" value="${email}"${wrong}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required maxlength="200"${wrong}${again}>
<button>Sign in</button>
</form>
${providers.length > 0 && markup`<h2>Or sign in through a provider</h2>`}
${providers.map(
  (name) =>
    markup`<p><a class="button plain" href="/auth/${name}/start?return_to=${encodeURIComponent(returnTo)}">Sign in with ${name}</a></p>`,
)}
${
  isDemo &&
  markup`<h2>Demo users</h2>
<p>Their password is <code>${demoPassword}</code>.</p>
<ul>
${demoUsers.map(({ email, role }) => markup`<li>${email}${abilities[role] ?? ""}</li>`)}
</ul>`
}
${returnTo === home && markup`<p><a href="/">About this service</a></p>`}`;
  return layout(`${error === undefined ? "" : "Error: "}Sign in to Expenses`, main);
}
