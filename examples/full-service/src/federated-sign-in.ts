import type { Database } from "@svc/database";
import type { IdentityHandler, LoginIdentity } from "@svc/oidc-login";
import type { SignBrowserIn } from "./browser-session.ts";
import { messagePage } from "./pages/message-page.ts";
import { sendPage } from "./pages/send-page.ts";
import { findUserByEmail, findUserByIdentity, linkIdentity, type User } from "./users.ts";

/** Options of {@link federatedSignIn}. */
export interface FederatedSignInOptions {
  readonly db: Database;
  readonly prepared: () => Promise<void>;
  readonly signBrowserIn: SignBrowserIn;
}

/**
 * Signs in the user to whom the provider's identity is linked. Without a link it signs in the user with the identity's
 * e-mail address, and links the identity. It uses the address only if the provider has verified it, because people may
 * enter any address in an account at a provider (OIDC-21).
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
    title: "You have no account here",
    text: `The provider ${provider} identifies you as ${email ?? "a person without an e-mail address"}, but this service has no account for this identity.`,
    href: "/sign-in",
    link: "Sign in as another user",
  });
}
