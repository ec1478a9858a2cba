import { addressChecks } from './addresses.ts';
import type { Check } from './check.ts';
import { clusterChecks } from './cluster.ts';
import { clusterObjectChecks } from './cluster-objects.ts';
import { configurationChecks } from './configuration.ts';
import { databaseChecks } from './databases.ts';
import { storageChecks } from './storage.ts';

/** Every check of `reelwright doctor`, in the order in which they run. */
export const checks: readonly Check[] = [
  ...configurationChecks,
  ...databaseChecks,
  ...storageChecks,
  ...addressChecks,
  ...clusterChecks,
  ...clusterObjectChecks,
];
