import type { Database } from "@svc/database";
import type { IdentityHandler, LoginIdentity } from "@svc/oidc-login";
import type { SignBrowserIn } from "./browser-session.ts";
import { messagePage } from "./pages/message-page.ts";
import { sendPage } from "./pages/send-page.ts";
import { findUserByEmail, findUserByIdentity, linkIdentity, type User } from "./users.ts";

/** What {@link federatedSignIn} stands on. */
export interface FederatedSignInOptions {
  readonly db: Database;
  readonly prepared: () => Promise<void>;
  readonly signBrowserIn: SignBrowserIn;
}

/**
 * Signs in whom a provider vouches for: the user to whom the identity is linked, or the one with that e-mail address, to whom
 * it is linked then. The address counts only where the provider has verified it: anybody may write somebody
 * else's into an account of theirs (OIDC-21).
 */
export function federatedSignIn({ db, prepared, signBrowserIn }: FederatedSignInOptions): IdentityHandler {
  async function userOf({ federated_id, email, email_verified }: LoginIdentity): Promise<User | undefined> {
    await prepared();
    const linked = await findUserByIdentity(db, federated_id);
    if (linked !== undefined || email === null || !email_verified) return linked;
    const known = await findUserByEmail(db, email);
    if (known !== undefined) await linkIdentity(db, federated_id, known.subject);
    return known;
  }

  return async function onIdentity(identity, req, res): Promise<void> {
    const user = await userOf(identity);
    if (user === undefined) sendPage(res, 403, noAccount(identity));
    else await signBrowserIn(user, req, res, identity.return_to === "/" ? undefined : identity.return_to);
  };
}

function noAccount({ email, provider }: LoginIdentity): string {
  return messagePage({
    title: "There is no account for you here",
    text: `The provider ${provider} says that you are ${email ?? "somebody without an e-mail address"}, whom this service does not know.`,
    href: "/sign-in",
    link: "Sign in as somebody else",
  });
}
