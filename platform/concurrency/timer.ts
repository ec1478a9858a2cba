/** The longest delay of a timer in milliseconds, almost 25 days (31 bits); a longer one ends at once. */
export const timerMsMax = 2 ** 31 - 1;
