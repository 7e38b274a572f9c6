import type { LoginIdentity } from "@svc/oidc-login";
import { expect } from "chai";
import { browser, start } from "@svc/test-support/openid";
import { type RealProvider, realProvider, signInThere } from "@svc/test-support/openid";
import { problemIn, serve, type Service, stacks } from "./support/service.ts";

describe("signing in at a real OpenID provider", () => {
  for (const stack of stacks) {
    describe(stack, () => {
      let provider: RealProvider;
      let service: Service;
      let url: string;

      before(async () => {
        provider = await realProvider();
        const acme = { clientId: "client-1", clientSecret: "secret-of-the-client", ...provider.options };
        service = await serve({ providers: { acme: { ...acme, issRequired: true } } }, stack);
        provider.accept(`${service.url}/auth/acme/callback`);
        url = `${service.url}/auth/acme/start`;
      });
      after(async () => {
        await service[Symbol.asyncDispose]();
        await provider[Symbol.asyncDispose]();
      });

      it("calls the handler with the identity of the person (OIDC-1, OIDC-2, OIDC-9, OIDC-10, OIDC-13, OIDC-19, OIDC-20)", async () => {
        const ours = browser();
        const { location } = await start(ours, `${url}?return_to=/orders?page=2`);
        expect(location.origin + location.pathname).to.equal(provider.options.authorizationEndpoint);
        const response = await ours.open(await signInThere(location.href));
        expect(response.status).to.equal(200);
        const { claims, ...identity } = (await response.json()) as LoginIdentity;
        expect(identity).to.eql({
          federated_id: "acme:ada",
          subject: "ada",
          provider: "acme",
          email: "ada@example.com",
          email_verified: true,
          name: "The ada",
          picture: null,
          return_to: "/orders?page=2",
        });
        expect(claims).to.include({ sub: "ada", aud: "client-1", iss: provider.url });
      });

      it("completes concurrent sign-ins in two tabs, even if the second tab finishes first (OIDC-5, OIDC-7)", async () => {
        const ours = browser();
        const there = browser();
        const first = await start(ours, `${url}?return_to=/first`);
        const second = await start(ours, `${url}?return_to=/second`);
        expect(ours.cookies.size).to.equal(2);
        const backFirst = await signInThere(first.location.href, { at: there });
        const backSecond = await signInThere(second.location.href, { at: there });
        const answers = [];
        for (const back of [backSecond, backFirst]) {
          const answer = (await (await ours.open(back)).json()) as LoginIdentity;
          answers.push(answer.return_to);
        }
        expect(answers).to.eql(["/second", "/first"]);
        expect(ours.cookies.size).to.equal(0);
      });

      it("rejects a callback that the back button repeats (OIDC-7, OIDC-12)", async () => {
        const ours = browser();
        const { location } = await start(ours, url);
        const cookies = new Map(ours.cookies);
        const back = await signInThere(location.href);
        expect((await ours.open(back)).status).to.equal(200);
        expect((await ours.open(back)).status).to.equal(401);
        expect(service.reason()).to.equal("no_login");
        // Restore the cookie: now the provider rejects the used code.
        const other = browser();
        for (const [name, value] of cookies) other.cookies.set(name, value);
        expect((await other.open(back)).status).to.equal(401);
        expect(service.reason()).to.equal("code_refused");
        expect(other.cookies.size).to.equal(0);
      });

      it("rejects a sign-in that the person cancelled, and deletes the attempt (OIDC-12)", async () => {
        const ours = browser();
        const { location } = await start(ours, url);
        const back = await signInThere(location.href, { cancel: true });
        const response = await ours.open(back);
        expect([response.status, ours.cookies.size]).to.eql([401, 0]);
        expect(await response.text()).not.to.match(/aborted|access_denied/i);
        expect(service.reason()).to.equal("provider_error");
      });

      it("rejects another person's code, even with the state of this browser (OIDC-9)", async () => {
        const theirs = await start(browser(), url);
        const back = await signInThere(theirs.location.href, { who: "mallory" });
        const ours = browser();
        expect((await ours.open(back)).status).to.equal(401);
        const { state } = await start(ours, url);
        const mixed = new URL(back);
        mixed.searchParams.set("state", state);
        const response = await ours.open(mixed.href);
        expect([response.status, service.reason()]).to.eql([401, "code_refused"]);
        expect((await problemIn(response)).detail).to.equal(
          "this sign-in could not be completed; start it again",
        );
      });

      it("rejects a callback whose iss is missing or belongs to another provider (OIDC-13)", async () => {
        for (const iss of [undefined, "https://other.example", ""]) {
          const ours = browser();
          const { location } = await start(ours, url);
          const back = new URL(await signInThere(location.href));
          if (iss === undefined) back.searchParams.delete("iss");
          else back.searchParams.set("iss", iss);
          expect((await ours.open(back.href)).status).to.equal(401);
          expect(service.reason()).to.equal("issuer_parameter");
        }
      });
    });
  }
});
