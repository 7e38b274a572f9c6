import { setTimeout as sleep } from "node:timers/promises";

const person = { email: "clerk@harbour-cafe.example", password: "expenses-demo" };
const expense = { category: "meals", amount: "12.50", paid_at: "2031-03-01T12:00:00Z" };
const patienceMs = 30_000;

/** Sends a file of one expense through the gateway, and waits until the receipts service has numbered its receipt. */
export async function importFile(url: string): Promise<void> {
  const { access_token: token } = await sent(`${url}/login`, { body: JSON.stringify(person) });
  const headers = { Authorization: `Bearer ${String(token)}` };
  // The receipts service creates its table at its first request.
  const { id } = await sent(`${url}/expenses`, { body: JSON.stringify(expense), headers });
  const first = await numberOf(`${url}/receipts-service/receipts/${String(id)}`, headers);
  const file = `category,amount,paid_at\n${expense.category},${expense.amount},${expense.paid_at}\n`;
  await sent(`${url}/expenses/import`, { body: file, headers: { ...headers, "Content-Type": "text/csv" } });
  // The demo data has no expense in that month, so the list has only expenses of this run and of earlier runs.
  for (const deadline = performance.now() + patienceMs; performance.now() < deadline;) {
    const { expenses } = await sent(`${url}/expenses?month=2031-03`, { method: "GET", headers });
    for (const each of expenses as readonly { id: string; amount: string }[]) {
      if (each.id === id || each.amount !== expense.amount) continue;
      if ((await numberOf(`${url}/receipts-service/receipts/${each.id}`, headers)) > first) return;
    }
    await sleep(50);
  }
  throw new Error("the expense of the file has no receipt");
}

async function numberOf(url: string, headers: Readonly<Record<string, string>>): Promise<number> {
  for (const deadline = performance.now() + patienceMs; performance.now() < deadline;) {
    const response = await fetch(url, { headers });
    if (response.status === 200) return ((await response.json()) as { number: number }).number;
    await sleep(50);
  }
  throw new Error("the expense has no receipt");
}

async function sent(url: string, init: RequestInit): Promise<Readonly<Record<string, unknown>>> {
  const headers = { "Content-Type": "application/json", ...(init.headers as Record<string, string>) };
  const response = await fetch(url, { method: "POST", ...init, headers });
  if (!response.ok) throw new Error(`${url} responded with ${response.status}`);
  return (await response.json()) as Readonly<Record<string, unknown>>;
}
