import type { EventEnvelope } from "@svc/events";
import type { Service } from "@svc/express";
import type { RecordedExpense } from "./recorded.ts";

/**
 * Requests the receipt of a recorded expense from the receipts service. PUT with the id of the expense has the same result
 * when it is repeated, so neither a repeated call nor a repeated event creates a second receipt.
 *
 * @throws ProblemError if the receipts service does not respond; the job of the event is then repeated later
 */
export async function requestReceipt(
  { http, issuer }: Service,
  { tenant_id: tenant, data }: Pick<EventEnvelope, "tenant_id" | "data">,
): Promise<void> {
  if (http === undefined || issuer === undefined) return;
  const { id, category, amount } = data as RecordedExpense;
  // A job has no caller whose token it could forward, so the service signs a token itself, for the tenant of the event.
  const { access_token: token } = await issuer.issuePair({
    subject: "expenses",
    scopes: ["receipts:write"],
    tenant,
  });
  await http("receipts").put(`/receipts/${id}`, {
    headers: { Authorization: `Bearer ${token}` },
    json: { category, amount },
    throwOn4xx: true,
  });
}
