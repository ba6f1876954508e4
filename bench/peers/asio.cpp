// bench/peers/asio.cpp -- an echo server with Boost.Asio, for the clients of load.h.
//
//     asio echo CONNECTIONS SIZE REQUESTS [embedded]
//
// One thread runs the loop, so Asio is told to take no locks. An answer is written at once, as it always fits, and
// only reading is asynchronous: an asynchronous write takes more time.
#include <boost/asio.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "load.h"

using boost::asio::ip::tcp;

class session : public std::enable_shared_from_this<session> {
  public:
    explicit session(tcp::socket s) : socket(std::move(s))
    {
        socket.set_option(tcp::no_delay(true));
    }

    void read()
    {
        socket.async_read_some(boost::asio::buffer(bytes),
                               [self = shared_from_this()](const boost::system::error_code &e, std::size_t n) {
                                   if (e) return; // the client has closed the connection
                                   std::size_t sent = self->socket.write_some(boost::asio::buffer(self->bytes, n));
                                   load_must(sent == n, "write");
                                   self->read();
                               });
    }

  private:
    tcp::socket socket;
    char bytes[LOAD_SIZE_MAX];
};

static void accept(tcp::acceptor &listener, int left)
{
    if (left == 0) return;
    listener.async_accept([&listener, left](const boost::system::error_code &e, tcp::socket s) {
        load_must(!e, "accept");
        std::make_shared<session>(std::move(s))->read();
        accept(listener, left - 1);
    });
}

int main(int argc, char **argv)
{
    static struct load load;
    if (argc < 5 || argc > 6 || strcmp(argv[1], "echo") != 0) {
        fprintf(stderr, "usage: %s echo CONNECTIONS SIZE REQUESTS [embedded]\n", argv[0]);
        return 2;
    }
    load_begin(&load, argv + 2);
    boost::asio::io_context loop(BOOST_ASIO_CONCURRENCY_HINT_UNSAFE);
    tcp::acceptor listener(loop, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0));
    listener.listen(1024);
    accept(listener, load.connections);
    load_go(&load, listener.local_endpoint().port());
    loop.run();
    load_end(&load, "asio");
    return 0;
}
