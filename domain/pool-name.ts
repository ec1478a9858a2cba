import { z } from 'zod';

/** The name of a RunnerPool. */
export const poolNameSchema = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 'must be the name of a pool: 1–63 of a–z, 0–9 and "-"');
