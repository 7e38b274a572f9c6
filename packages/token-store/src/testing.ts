export { type TokenStoreCase, tokenStoreCases, type TokenStoreSuite } from "./suite/cases.ts";
