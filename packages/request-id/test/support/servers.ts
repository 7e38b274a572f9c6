import type { RequestListener } from "node:http";
import type { Middleware } from "@svc/context";
import { expressMajors } from "@svc/test-support";
import connect from "connect";

/** The handler of a test's requests, after the middleware. */
export type Handler = RequestListener;

/** For each kind of server, combines middleware and a handler into a request listener. */
export const servers: Readonly<
  Record<string, (middleware: readonly Middleware[], handler: Handler) => RequestListener>
> = {
  "bare http": (middleware, handler) => (req, res) => {
    const step = (index: number): void => {
      const each = middleware[index];
      if (each === undefined) handler(req, res);
      else each(req, res, () => step(index + 1));
    };
    step(0);
  },
  connect: (middleware, handler) => {
    const app = connect();
    for (const each of middleware) app.use(each);
    return app.use(handler);
  },
  ...Object.fromEntries(
    Object.entries(expressMajors).map(([name, express]) => [
      name,
      (middleware: readonly Middleware[], handler: Handler): RequestListener => {
        const app = express();
        for (const each of middleware) app.use(each);
        return app.use(handler) as unknown as RequestListener;
      },
    ]),
  ),
};
