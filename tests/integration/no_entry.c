/* A module without an entry point. */
int no_entry(void);
int no_entry(void)
{
    return 0;
}
