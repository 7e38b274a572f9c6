import type { Queryable } from "@svc/sql";
import type { Passwords } from "./passwords.ts";
import { demoTenants } from "./seed.ts";
import { addUser } from "./users.ts";

/** The password of all demo users, which the pages show. */
export const demoPassword = "expenses-demo";

/** A clerk and an admin of every demo tenant, and an operator of the service. */
export const demoUsers: readonly Readonly<Record<"subject" | "email" | "tenant" | "role", string>>[] = [
  ...demoTenants.flatMap((tenant) =>
    ["clerk", "admin"].map((role) => ({
      subject: `${role}-of-${tenant}`,
      email: `${role}@${tenant}.example`,
      tenant,
      role,
    })),
  ),
  { subject: "operator", email: "operator@expenses.example", tenant: "operations", role: "operator" },
];

/** Writes the demo users into the empty table, each with its own salt. */
export async function addDemoUsers(db: Queryable, passwords: Passwords): Promise<void> {
  const stored = await Promise.all(demoUsers.map(() => passwords.hash(demoPassword)));
  for (const [index, { subject, email, tenant, role }] of demoUsers.entries()) {
    const scopes = role === "operator" ? [] : ["expenses:read", "expenses:write"];
    const roles = role === "clerk" ? [] : [role];
    await addUser(db, { subject, email, password: stored[index] ?? null, tenant, scopes, roles });
  }
}
