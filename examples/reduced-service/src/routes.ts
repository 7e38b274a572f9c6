import {
  currentPrincipal,
  optionalAuth,
  principalOf,
  requireAuth,
  requireRoles,
  requireScopes,
} from "@svc/jwt-auth";
import { currentTenant, requireTenant } from "@svc/tenancy";
import type { Express } from "express";

/** The notes of each tenant, in memory. */
const notes = new Map<string, string[]>([["harbour-cafe", ["buy milk", "call the roaster"]]]);

/** Adds one route for each kind of guard. */
export function routes(app: Express): void {
  app.get("/greeting", optionalAuth(), (req, res) => {
    res.json({ greeting: `Hello, ${principalOf(req)?.subject ?? "guest"}` });
  });

  app.get("/me", requireAuth(), (_req, res) => {
    const { subject, scopes, roles, tenant = null } = currentPrincipal();
    res.json({ subject, scopes, roles, tenant });
  });

  app.get("/notes", requireScopes("notes:read"), requireTenant(), (_req, res) => {
    res.json({ notes: notes.get(currentTenant()) ?? [] });
  });

  app.get("/tenants", requireRoles("admin"), (_req, res) => {
    res.json({ tenants: [...notes.keys()] });
  });
}
