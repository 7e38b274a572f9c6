import express5 from "express";
import express4 from "express4";

/**
 * Both majors of Express, typed as Express 5, because their app types are incompatible and tests compare only their
 * behaviour.
 */
export const expressMajors: Readonly<Record<"express 4" | "express 5", typeof express5>> = {
  "express 4": express4 as unknown as typeof express5,
  "express 5": express5,
};
