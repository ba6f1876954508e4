/* kv5.c -- step 5 of docs/tutorial.md: the service as a module, for any number of nodes.
 *
 *     $ weft run kv5.c --name a --listen tcp://127.0.0.1:4001
 *     $ weft call kv '["color","blue"]' --tag 1 --node a
 */
#include "service.h"

WEFT_MODULE(service) /* the supervisor is the node's first actor: if it gives up the process ends with 1 */

int main(void)
{
    return weft_main(NULL, service, NULL, 0);
}
