import { type Check, check, every, must } from "../check.ts";

export const profileChecks: readonly Check[] = [
  check("PROF-2", { needs: ["reduced", "auth"] }, async (kit) => {
    const token = kit.settings.keys === undefined ? undefined : kit.tokens.mint();
    const paths = ["POST /auth/refresh", "POST /auth/logout", "GET /.well-known/jwks.json"];
    const answers = await Promise.all(paths.map((path) => kit.ask(path, { token })));
    return every(
      answers.map(({ status }, index) =>
        must(status === 404, `${paths[index]}: ${status}`, "404: the reduced profile only verifies"),
      ),
    );
  }),
];
