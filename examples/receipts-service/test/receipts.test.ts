import { testDatabase } from "@svc/dev-services";
import { createService } from "@svc/express";
import { signToken } from "@svc/test-support";
import { expect } from "chai";
import request from "supertest";
import { receiptsService } from "../src/service.ts";

const secret = "a secret of the tests, 32 bytes or more";
const expense = "0123456789abcdef0123456789abcdef";
const purchase = { category: "meals", amount: "12.50" };

/** Returns the header that identifies a caller of a tenant. */
function as(tenant: string, scope = "receipts:write expenses:read"): Readonly<Record<string, string>> {
  const claims = { iss: "expenses", aud: "expenses", sub: "expenses", tenant_id: tenant, scope };
  return { Authorization: `Bearer ${signToken(claims, secret)}` };
}

describe("the receipts service", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "receipts" });
  let url = "";
  let stop: () => Promise<unknown> = () => Promise.resolve();

  before(async () => {
    const env = { SVC_PORT: "0", SVC_AUTH_SECRET: secret, DATABASE_URL: database.url };
    const service = await createService({
      ...receiptsService(env),
      signals: false,
      logDestination: { write: () => undefined },
    });
    await service.start();
    url = `http://127.0.0.1:${service.address?.port}`;
    stop = () => service.stop();
  });
  after(() => stop());

  const put = (id: string, tenant: string): request.Test =>
    request(url).put(`/receipts/${id}`).set(as(tenant));

  it("numbers the receipts of a tenant without gaps, one for each expense", async () => {
    const ids = Array.from({ length: 5 }, (_, index) => `${index}`.repeat(32));
    // Send each request twice at the same time, as for an event that is delivered twice.
    const answers = await Promise.all([...ids, ...ids].map((id) => put(id, "acme").send(purchase)));
    const issued = answers.filter(({ status }) => status === 201).map(({ body }) => body as object);
    expect(issued).to.have.length(5);
    expect(issued.map((body) => (body as { number: number }).number)).to.have.members([1, 2, 3, 4, 5]);
    for (const { status, body } of answers) {
      if (status !== 201) expect(issued).to.deep.include(body);
    }
    const { body } = await request(url).get(`/receipts/${ids[0]}`).set(as("acme"));
    expect(issued).to.deep.include(body);
  });

  it("shows a tenant only its own receipts", async () => {
    expect((await put(expense, "one").send(purchase)).body).to.include({ number: 1 });
    const other = await request(url).get(`/receipts/${expense}`).set(as("two"));
    expect({ status: other.status, detail: (other.body as { detail: string }).detail }).to.deep.equal({
      status: 404,
      detail: "there is no receipt for this expense",
    });
    expect((await put(expense, "two").send(purchase)).body).to.include({ number: 1 });
  });

  it("refuses callers without a token and without the scope", async () => {
    expect((await request(url).put(`/receipts/${expense}`).send(purchase)).status).to.equal(401);
    const reader = as("acme", "expenses:read");
    expect((await request(url).put(`/receipts/${expense}`).set(reader).send(purchase)).status).to.equal(403);
  });

  it("names every invalid member", async () => {
    const { status, body } = await put("x", "acme").send({ amount: "1" });
    const { errors } = body as { errors: readonly { loc: readonly string[] }[] };
    expect({ status, loc: errors.map(({ loc }) => loc.join(".")) }).to.deep.equal({
      status: 422,
      loc: ["path.expense", "body.category", "body.amount"],
    });
  });
});
