import { createInbox, type EventEnvelope, type Subscriber } from "@svc/events";
import { withTransaction } from "@svc/sql";
import type { Pool } from "pg";

const inbox = createInbox();

/** Creates the inbox table, and the table of the effects that must happen once per event. */
export async function prepareEffects(pool: Pool): Promise<void> {
  await inbox.ensureSchema(pool);
  await pool.query("create table if not exists effects (consumer text, event text, by text)");
}

/** Returns a subscriber that inserts one row per event, through the inbox. */
export function effect(pool: Pool, consumer: string, by = ""): Subscriber {
  return (event: EventEnvelope) =>
    withTransaction(pool, (tx) =>
      inbox.once(tx, consumer, event.id, () =>
        tx.query("insert into effects values ($1, $2, $3)", [consumer, event.id, by]),
      ),
    );
}
