import { describe, inject } from 'vitest';
import { scenarios } from '../../testing/faults/scenarios.ts';
import { replayScenarios } from '../../testing/faults/suite.ts';
import { openWorld } from '../../testing/faults/world.ts';

// A crash, a failure, a lost answer, a delay and a conflict at the writes of each scenario. `make faults` makes a share
// of the runs, or all; `make test` one of each scenario.

const share = Number(process.env['FAULTS_SHARE'] ?? 1_000);
const slice = Number(process.env['FAULTS_SLICE'] ?? 0);

describe.skipIf(!inject('postgres') || !inject('redis'))('a fault at a write', () => {
  replayScenarios({ open: openWorld, scenarios, share, slice });
});
