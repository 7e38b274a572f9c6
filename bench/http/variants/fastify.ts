import { fastify } from "fastify";
import type { Subject } from "../../harness/subject.ts";
import { httpSubject } from "../http-subject.ts";
import { item, routePath } from "../route.ts";

/** Starts Fastify with its defaults, which write no log. */
export async function start(): Promise<Subject> {
  const app = fastify();
  app.get<{ Params: { id: string } }>(routePath, (req, reply) => {
    reply.send(item(req.params.id));
  });
  await app.ready();
  return httpSubject(app.server);
}
