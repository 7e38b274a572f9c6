import { fastify } from "fastify";
import type { Subject } from "../../harness/subject.ts";
import { httpSubject } from "../http-subject.ts";
import { item, routePath } from "../route.ts";

/** Fastify with its defaults, which log nothing. */
export async function start(): Promise<Subject> {
  const app = fastify();
  app.get<{ Params: { id: string } }>(routePath, (req, reply) => {
    reply.send(item(req.params.id));
  });
  await app.ready();
  return httpSubject(app.server);
}
