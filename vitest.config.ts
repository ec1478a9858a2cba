import { defineConfig } from 'vitest/config';

// Unit tests stand beside the code and touch nothing outside the process; everything else lives in test/.
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{domain,platform,api,controller,runner,bench,test/architecture}/**/*.test.ts'],
        },
      },
      {
        test: {
          name: 'real',
          include: ['test/{contract,integration,faults}/**/*.test.ts'],
          globalSetup: ['test/support/global-setup.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          maxWorkers: 2,
        },
      },
    ],
  },
});
