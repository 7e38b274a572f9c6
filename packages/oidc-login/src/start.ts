import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import {
  buildAuthorizationUrl,
  type Configuration,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
} from "openid-client";
import { type AttemptCookies, cookiesOf, isLive, surplus } from "./attempt-cookie.ts";
import type { Provider } from "./provider.ts";
import { localPath } from "./return-to.ts";

/** Redirects a browser to a provider (OIDC-2 to OIDC-8). Keeps the attempt only in the cookie. */
export function startLogin(
  provider: Provider,
  client: Configuration,
  cookies: AttemptCookies,
  clock: { readonly nowSeconds: () => number; readonly leewaySeconds: number },
): (req: IncomingMessage, res: ServerResponse, query: URLSearchParams) => void {
  const fixed = {
    ...provider.authorizationParameters,
    redirect_uri: provider.redirectUri,
    response_type: "code",
    scope: provider.scopes.join(" "),
    code_challenge_method: "S256",
  };
  return (req, res, query) => {
    const [state, nonce, verifier] = [randomState(), randomNonce(), randomPKCECodeVerifier()];
    const now = clock.nowSeconds();
    const asked = query.getAll("return_to");
    const returnTo = asked.length === 1 ? localPath(asked[0] ?? "") : undefined;
    const url = buildAuthorizationUrl(client, {
      ...fixed,
      state,
      nonce,
      code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    });
    const name = cookies.nameOf(state);
    const attempt = {
      provider: provider.name,
      state,
      nonce,
      verifier,
      return_to: returnTo ?? "/",
      issued_at: now,
    };
    const gone = surplus(cookies, cookiesOf(req.headers.cookie), (each) =>
      isLive(each, now, clock.leewaySeconds),
    );
    for (const line of [
      ...gone.map((each) => cookies.forget(each)),
      cookies.write(name, cookies.seal(name, attempt)),
    ])
      res.appendHeader("Set-Cookie", line);
    res.setHeader("Cache-Control", "no-store");
    res.setHeader("Content-Length", 0);
    res.setHeader("Location", url.href);
    res.statusCode = 302;
    res.end();
  };
}
